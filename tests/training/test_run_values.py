import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgnn
from edgnn._json import from_json, to_csv, to_json
from edgnn.errors import RunError
from edgnn.training import decode_value, decode_vocabulary, encode_value, encode_vocabulary
from edgnn.training._values import pack_tensors, unpack_tensors

texts = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["NaN", "~NaN", "-Infinity", "~~Infinity", "nan", "\ud800"]
)
atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**52, max_value=2**54)
    | st.floats()
    | texts
)
labels = st.recursive(
    atoms | st.binary() | st.just(edgnn.UNKNOWN),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
)
documents = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
)


def exact(value):
    """The value with its types, NaN equal to NaN, and -0.0 different from 0.0."""
    if isinstance(value, list | tuple):
        return type(value), [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return type(value), repr(value)


def strict(data):
    def refuse(token):
        raise AssertionError(token)

    return json.loads(data, parse_constant=refuse)


# JSON


@given(documents)
def test_json_comes_back_exactly_and_is_strict(value):
    data = to_json(value)
    strict(data)
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert exact(from_json(data)) == exact(value)
    assert exact(from_json(to_json(value, indent=2))) == exact(value)


def test_numbers_that_json_lacks_are_strings():
    assert (
        to_json([math.nan, math.inf, -math.inf, "NaN", "~NaN"])
        == b'["NaN", "Infinity", "-Infinity", "~NaN", "~~NaN"]\n'
    )


def test_arrays_and_tensors_become_lists():
    value = {
        "a": np.float32([0.5, np.nan]),
        "b": torch.tensor([[1, 2]]),
        "c": np.int64(3),
        "d": (1, np.bool_(True)),
    }
    assert to_json(value) == b'{"a": [0.5, "NaN"], "b": [[1, 2]], "c": 3, "d": [1, true]}\n'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [0, {1: 2}]}, r"the value\['a'\]\[1\] has the key 1; .*use '1'"),
        ({"a": {1}}, r"the value\['a'\] is a set"),
        (object(), "the value is a object"),
        (np.longdouble(1), "longdouble"),
        ([10**5000], "cannot be stored as JSON"),
    ],
)
def test_what_json_cannot_hold_is_named(value, message):
    with pytest.raises(RunError, match=message):
        to_json(value)


def test_a_list_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(RunError, match="holds itself"):
        to_json(value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[NaN]", b"-Infinity", b"\xff", b"[" * 10**5, b"1" * 5000, b"1 2", b"\x00"]
)
def test_what_is_no_json_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"line 1|is no JSON|codec|nested|digits"):
        from_json(data)


# Labels


@given(labels)
def test_labels_come_back_exactly_through_strict_json(value):
    assert exact(decode_value(from_json(to_json(encode_value(value))))) == exact(value)
    assert exact(decode_value(strict(json.dumps(encode_value(value), allow_nan=False)))) == exact(
        value
    )


def test_one_is_not_true_and_not_a_real_number():
    stored = [encode_value(value) for value in (1, 1.0, True, "1", (1,), b"1")]
    assert len({json.dumps(value) for value in stored}) == 6
    assert [type(decode_value(value)) for value in stored] == [int, float, bool, str, tuple, bytes]


def test_whole_numbers_of_any_size_come_back():
    for value in (2**53 - 1, 2**53, -(2**53), 10**30, -(16**5000)):
        assert decode_value(json.loads(json.dumps(encode_value(value)))) == value


def test_whole_numbers_that_other_readers_of_json_would_round_are_text():
    assert encode_value(2**53 - 1) == 2**53 - 1
    assert encode_value(2**53) == {"int": "0x20000000000000"}


def test_unknown_is_the_one_unknown():
    assert decode_value(encode_value(("a", edgnn.UNKNOWN)))[1] is edgnn.UNKNOWN


def test_numpy_scalars_become_plain_values():
    values = [
        np.int32(3),
        np.float32(0.5),
        np.bool_(True),
        np.str_("a"),
        np.bytes_(b"a"),
        (np.uint64(2**63),),
    ]
    assert exact([decode_value(encode_value(value)) for value in values]) == exact(
        [3, 0.5, True, "a", b"a", (2**63,)]
    )


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        frozenset("a"),
        [1],
        {"a": 1},
        1j,
        object(),
        Text("a"),
        ("a", frozenset()),
        np.datetime64("2020-01-01"),
        np.longdouble(1),
    ],
)
def test_labels_of_other_types_are_refused_clearly(value):
    with pytest.raises(RunError, match="which a run folder cannot store: use text, numbers"):
        encode_value(value)


def test_label_nested_too_deeply_is_refused():
    value = ()
    for _ in range(10**5):
        value = (value,)
    with pytest.raises(RunError, match="nested too deeply"):
        encode_value(value)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"int": 1},
        {"int": "x"},
        {"float": "1"},
        {"bytes": "0"},
        {"unknown": False},
        {"int": "1", "float": "inf"},
        {"a": 1},
        [{}],
        b"",
    ],
)
def test_damaged_labels_are_refused(stored):
    with pytest.raises(RunError, match="is no stored label"):
        decode_value(stored)


@given(st.lists(labels.filter(lambda value: "nan" not in repr(value)), unique=True))
def test_vocabularies_come_back_exactly(values):
    back = decode_vocabulary(from_json(to_json(encode_vocabulary(edgnn.Vocabulary(values)))))
    assert exact(tuple(back)) == exact(tuple(values))


@pytest.mark.parametrize("stored", [None, {"a": 1}, ["a", "a"], [{"float": "nan"}], [{"x": 1}]])
def test_damaged_vocabularies_are_refused(stored):
    with pytest.raises(RunError, match="damaged"):
        decode_vocabulary(stored)


def test_vocabularies_of_a_real_set_come_back():
    graphs = edgnn.load_dataset("MUTAG").graphs
    for vocabulary in (graphs.node_vocabulary, graphs.edge_vocabulary.with_unknown()):
        assert decode_vocabulary(encode_vocabulary(vocabulary)) == vocabulary


# Tensors

DTYPES = (
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)


def same(left, right):
    as_bytes = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (left, right)]
    return left.dtype == right.dtype and left.shape == right.shape and torch.equal(*as_bytes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_tensors_of_every_kind_and_shape_come_back(dtype, shape):
    tensor = torch.randint(0, 2, shape).to(dtype)
    assert same(unpack_tensors(pack_tensors({"a": tensor}))["a"], tensor)


def test_numbers_that_are_none_come_back():
    tensor = torch.tensor([math.nan, math.inf, -math.inf, -0.0])
    assert same(unpack_tensors(pack_tensors({"a": tensor}))["a"], tensor)


def test_views_shared_memory_and_gradients_are_no_obstacle():
    base = torch.arange(12.0, requires_grad=True)
    given = {
        "t": base.view(3, 4).T,
        "all": base,
        "again": base,
        "part": base[3:5],
        "same": torch.ones(1).expand(5),
    }
    tensors = unpack_tensors(pack_tensors(given))
    assert all(same(tensors[name], tensor.detach()) for name, tensor in given.items())
    assert not any(tensor.requires_grad for tensor in tensors.values())
    tensors["all"].zero_()
    assert same(tensors["again"], base.detach())


def test_same_content_gives_the_same_bytes_in_any_order():
    tensors = {name: torch.full((2,), ord(name)) for name in "bca"}
    assert pack_tensors(tensors) == pack_tensors(dict(reversed(tensors.items())))
    assert list(unpack_tensors(pack_tensors(tensors))) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({1: torch.ones(1)}, "named 1"),
        ({"__metadata__": torch.ones(1)}, "reserved"),
        ({"a": [1.0]}, "'a' is a list, not a tensor"),
        ({"a": torch.ones(2).to_sparse()}, "'a' .*no dense array"),
        ({"a": torch.ones(2, dtype=torch.complex128)}, "'a' .*no dense array"),
        ({"a": torch.ones(2, device="meta")}, "'a' .*no dense array"),
        ({"\ud800": torch.ones(2)}, "cannot be stored"),
    ],
)
def test_what_safetensors_cannot_hold_is_named(tensors, message):
    with pytest.raises(RunError, match=message):
        pack_tensors(tensors)


def test_file_of_another_program_is_read_without_checksum():
    from safetensors.torch import save

    tensors = unpack_tensors(save({"a": torch.ones(2)}, {"format": "pt"}))
    assert same(tensors["a"], torch.ones(2))


def test_one_changed_number_is_noticed():
    data = bytearray(pack_tensors({"a": torch.zeros(100)}))
    data[-50] ^= 1
    with pytest.raises(ValueError, match="does not match its checksum"):
        unpack_tensors(bytes(data))


# Tables


def parsed(data):
    import csv
    import io

    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


@given(st.lists(st.tuples(st.text(), st.text(alphabet='",\r\n a;\t')), max_size=5))
def test_text_comes_back_from_csv(rows):
    data = to_csv({"a": [left for left, _ in rows], 'b"\n': [right for _, right in rows]})
    assert parsed(data) == [["a", 'b"\n'], *map(list, rows)]


def test_csv_is_written_byte_for_byte():
    columns = {
        "name": ["x", None, "", 'say "a", b', " c"],
        "p": np.float32([0.1, 1e10, np.nan, -np.inf, 1]),
        "q": torch.tensor([0.5, 1e-7, math.nan, 1.0, 2.0], dtype=torch.float64),
        "n": [1, 2**70, np.int8(3), True, np.bool_(False)],
        "label": [("a", 1), edgnn.UNKNOWN, b"a", None, 0.1],
    }
    assert to_csv(columns).decode().split("\n") == [
        "name,p,q,n,label",
        "x,0.1,0.5,1,\"('a', 1)\"",
        f",1e+10,1e-07,{2**70},<unknown>",
        "\"\",nan,nan,3,b'a'",
        '"say ""a"", b",-inf,1.0,true,',
        '" c",1.0,2.0,false,0.1',
        "",
    ]


@given(st.lists(st.floats(allow_nan=False)))
def test_numbers_come_back_from_csv(values):
    assert [float(text) for (text,) in parsed(to_csv({"a": values}))[1:]] == values


def test_a_lone_empty_field_is_no_empty_line():
    assert to_csv({"a": [None, "", 1]}) == b'a\n""\n""\n1\n'


def test_text_without_utf8_does_not_lose_the_table():
    assert to_csv({"a": ["\ud800"]}) == b"a\n\\ud800\n"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "at least one column"),
        ({"a": [1], "b": [1, 2]}, "'b' and 'a' .* 2 and 1 rows"),
        ({1: [1]}, "named 1"),
        ({"a": np.ones((2, 2))}, "'a' .*not one value per row"),
        ({"a": "text"}, "'a' .*not one value per row"),
    ],
)
def test_tables_that_are_none_are_refused(columns, message):
    with pytest.raises(RunError, match=message):
        to_csv(columns)
