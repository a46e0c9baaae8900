from __future__ import annotations

import gc
import sys

import pytest
import torch

from edgnn import Graphs, Structure
from edgnn.nn import Inputs
from edgnn.training import Blocks
from mutag import load_mutag

MOLECULES = load_mutag().graphs


def repeated(count):
    """Return as many molecules, the same ten over and over, so that all shares stay what they are."""
    return MOLECULES[torch.arange(count) % 10]


def calls(function, *arguments):
    """Return how many functions, Python's and built-in ones, are called, imports and first uses aside."""
    function(*arguments)
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # a collection may call back
    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
        gc.enable()
    return counted


def fresh(graphs):
    """Return the same graphs without anything derived from them."""
    return graphs._with()


def by_numbers(graphs):
    return fresh(graphs)[torch.arange(len(graphs)).flip(0)]


def by_mask(graphs):
    return fresh(graphs)[torch.arange(len(graphs)) % 2 == 0]


def by_slice(graphs):
    return fresh(graphs)[1:]


def structure(graphs):
    return Structure.of(fresh(graphs), relations=True)


def inputs(graphs):
    return Inputs.of(fresh(graphs))


def reordered(graphs):
    return fresh(graphs).reordered()


def concat(graphs):
    return Graphs.concat([graphs, graphs])


@pytest.mark.parametrize(
    "work", [by_numbers, by_mask, by_slice, concat, structure, inputs, reordered]
)
def test_a_thousand_graphs_take_as_many_calls_as_ten(work):
    assert calls(work, repeated(10)) == calls(work, repeated(1_000))


@pytest.mark.parametrize("relations", [False, True])
@pytest.mark.parametrize("large", [(2, 500), (200, 5)])
def test_a_batch_takes_as_many_calls_whatever_its_graphs_and_members(relations, large):
    few, many = (Blocks(Inputs.of(repeated(count), relations=relations)) for count in (10, 1_000))
    small = torch.arange(2 * 5).view(2, 5) % 10
    assert calls(few.take, small) == calls(many.take, torch.arange(large[0] * large[1]).view(large))


def test_a_loop_over_graphs_is_noticed():
    assert calls(list, repeated(1_000)) > 50 * calls(list, repeated(10))
