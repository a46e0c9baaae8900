"""The local web app: predictions, explanations and colors of what people paste or drop, and the same as an API."""
