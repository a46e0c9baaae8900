"""Rules for parameters: which values are fine, and how an error says so; one table per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from edgnn._words import short, suggestion
from edgnn.errors import EdgnnError


@dataclass(frozen=True)
class Rule:
    """Which values a parameter may have.

    Attributes
    ----------
    holds : callable
        Returns whether a value is fine.
    text : str
        The values in words, as they follow "choose" in an error.
    words : tuple
        What a mistyped word may be close to.
    several : bool
        Whether several values at once are a value, too, so that a list is not one of candidates.
    """

    holds: Callable[[Any], bool]
    text: str
    words: tuple[Any, ...] = ()
    several: bool = False

    def or_none(self, meaning: str) -> Rule:
        """Allow ``None`` too."""
        text = f"{self.text}, or None ({meaning})"
        return replace(self, holds=lambda value: value is None or self.holds(value), text=text)

    def or_word(self, word: str, meaning: str) -> Rule:
        """Allow a word too."""
        text = f"{word!r} ({meaning}), {self.text}"
        return replace(
            self,
            holds=lambda value: _is_word(value, (word,)) or self.holds(value),
            text=text,
            words=(word, *self.words),
        )

    def or_several(self, least: int = 1) -> Rule:
        """Allow a tuple, list or array of such values too, with at least so many of them."""
        text = f"{self.text}; or several such"
        several = partial(_are_several, holds=self.holds, least=least)
        return replace(self, holds=several, text=text, several=True)


Rules = Mapping[str, Rule]


def check(values: Mapping[str, Any], rules: Rules, error: type[EdgnnError]) -> None:
    """Raise an error for the first parameter whose value breaks its rule."""
    for name, rule in rules.items():
        if name not in values or rule.holds(values[name]):
            continue
        value = values[name]
        raise error(f"{name}={short(value)}: choose {rule.text}{suggestion(value, rule.words)}")


def whole(least: int, most: int | None = None) -> Rule:
    """Allow whole numbers within limits."""
    limits = f", {least} or more" if most is None else f" from {least} to {most}"
    return Rule(partial(_is_whole, least=least, most=most), f"a whole number{limits}")


def number(test: Callable[[float], bool], text: str) -> Rule:
    """Allow real numbers that pass a test."""
    return Rule(partial(_is_number, test=test), text)


def one_of(*choices: Any) -> Rule:
    """Allow one of some words, among which may be ``None``."""
    return Rule(partial(_is_word, choices=choices), _listed(choices), choices)


def some_of(*choices: str) -> Rule:
    """Allow one of some words, or several different ones."""
    text = f"{_listed(choices)}, or several of them, each once"
    return Rule(partial(_are_words, choices=choices), text, choices, several=True)


def _is_whole(value: Any, least: int, most: int | None) -> bool:
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    small_enough = most is None or int(value) <= most
    return small_enough and int(value) >= least


def _is_number(value: Any, test: Callable[[float], bool]) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return test(float(value))
    except OverflowError:  # a whole number beyond every float
        return False


def _is_word(value: Any, choices: tuple[Any, ...]) -> bool:
    return isinstance(value, str | None) and value in choices


def _are_words(value: Any, choices: tuple[str, ...]) -> bool:
    words = (value,) if isinstance(value, str) else value
    if not isinstance(words, tuple | list) or not words:
        return False
    repeated = len(words) > len({*map(str, words)})
    return not repeated and all(_is_word(word, choices) for word in words)


def _are_several(value: Any, holds: Callable[[Any], bool], least: int) -> bool:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, tuple | list | range):
        return holds(value)
    return len(value) >= least and all(map(holds, value))


def _listed(choices: tuple[Any, ...]) -> str:
    return f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"


FLAG = Rule(lambda value: isinstance(value, bool | np.bool_), "True or False")
POSITIVE = number(lambda value: 0 < value < float("inf"), "a number above 0")
NOT_NEGATIVE = number(lambda value: 0 <= value < float("inf"), "a number, 0 or more")
RATE = number(lambda value: 0 <= value < 1, "a number from 0 to below 1")
