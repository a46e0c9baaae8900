"""What ``edgnn doctor`` looks at: packages, devices, places, and whether the core works."""
