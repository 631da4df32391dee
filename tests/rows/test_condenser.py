"""`Condenser`: what engines map over batches of rows. The real engines are tried in `make integrations`."""

import json
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers import cut_by_speed, listing
from rowsets import LONG, chat

import condense_cli
from condense_cli import Condenser
from condense_cli.errors import ConfigurationError, UsageError

SHORT = 1
BAD: list[Any] = [None, "no JSON", [{"neither": "this"}], "null", 7, [[1]]]
"""Cells that hold no conversation."""


def condensed(exchanges: int = LONG) -> list[dict[str, Any]]:
    """Condense a conversation with `speed`."""
    messages = chat(exchanges)
    for number in range(1, exchanges - 1):
        messages[2 * number]["content"] = cut_by_speed(listing(number))
    return messages


def without_nulls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in message.items() if value is not None} for message in messages]


def columns(*cells: Any) -> dict[str, list[Any]]:
    return {"id": [*range(len(cells))], "messages": [*cells]}


def test_a_dict_of_columns() -> None:
    batch = columns(chat(), chat(SHORT))
    done = Condenser("speed")(batch)
    assert [*done] == ["id", "messages", "tokens_before", "tokens_after", "error"]
    assert done["id"] == [0, 1]
    assert without_nulls(done["messages"][0]) == without_nulls(condensed())
    assert done["messages"][1] is batch["messages"][1]
    assert done["tokens_before"][0] > done["tokens_after"][0] > 0
    assert done["tokens_before"][1] == done["tokens_after"][1] > 0
    assert done["error"] == ["", ""]
    assert batch == columns(chat(), chat(SHORT))


def test_bad_rows_stay_and_say_why() -> None:
    done = Condenser("speed")(columns(chat(), *BAD, chat()))
    assert done["messages"][1:-1] == BAD
    assert [bool(why) for why in done["error"]] == [False, *(True for _ in BAD), False]
    assert done["tokens_after"][1:-1] == [0] * len(BAD)
    assert done["messages"][-1] == done["messages"][0]
    assert done["error"][1] == "it has no value."


def test_text_stays_text() -> None:
    done = Condenser("speed")(columns(json.dumps(chat()), json.dumps(chat(SHORT))))
    assert json.loads(done["messages"][0]) == condensed()
    assert done["messages"][1] == json.dumps(chat(SHORT))


@pytest.mark.parametrize("as_text", [False, True])
def test_a_single_row(as_text: bool) -> None:
    cell = json.dumps(chat()) if as_text else chat()
    done = Condenser("speed")({"id": 5, "messages": cell, "tags": ["a"]})
    assert (done["id"], done["tags"], done["error"]) == (5, ["a"], "")
    found = json.loads(done["messages"]) if as_text else done["messages"]
    assert without_nulls(found) == without_nulls(condensed())
    assert done["tokens_before"] > done["tokens_after"]


def test_empty_batches_and_conversations() -> None:
    assert Condenser("speed")({"id": [], "messages": []})["tokens_before"] == []
    assert Condenser("speed")({"id": 3, "messages": []})["tokens_before"] == 0
    assert Condenser("speed")(columns([], chat()))["error"] == ["", ""]


def test_only_rows_above_max_tokens_are_condensed() -> None:
    sizes = Condenser("speed")(columns(chat(LONG), chat(LONG - 1)))["tokens_before"]
    done = Condenser("speed", max_tokens=sizes[1])(columns(chat(LONG), chat(LONG - 1)))
    assert done["tokens_after"][0] <= sizes[1]
    assert done["messages"][1] == chat(LONG - 1)
    assert done["error"] == ["", ""]
    small = Condenser("speed", max_tokens=10)(columns(chat(LONG)))
    assert small["tokens_after"][0] < sizes[0]
    assert small["error"] == [f"still {small['tokens_after'][0]:,} tokens, more than 10."]


def test_another_column_model_and_configuration() -> None:
    settings = {"preset": "speed"}
    done = Condenser(configuration=settings, column="trace", model="claude-opus-4-5", prefix="c_")({"trace": [chat()]})
    assert [*done] == ["trace", "c_tokens_before", "c_tokens_after", "c_error"]
    plain = Condenser("speed", column="trace")({"trace": [chat()]})
    assert done["c_tokens_before"][0] > plain["tokens_before"][0]
    assert done["trace"] == plain["trace"]


@pytest.mark.parametrize(
    ("arguments", "batch"),
    [
        ({}, [chat()]),
        ({}, None),
        ({"column": "other"}, columns(chat())),
        ({}, {**columns(chat()), "error": ["mine"]}),
        ({"max_tokens": 0}, columns()),
        ({"max_tokens": "many"}, columns()),
        ({"preset": "sped"}, columns()),
        ({"preset": "speed", "configuration": {}}, columns()),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(arguments: dict[str, Any], batch: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Condenser(**arguments)(batch)
    assert caught.value.hint


def test_it_pickles_with_its_configuration(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("preset: speed\n")
    one = Condenser(str(path))
    before = pickle.dumps(one)
    done = one(columns(chat()))
    path.unlink()
    assert pickle.dumps(one) == before
    assert pickle.loads(before)(columns(chat())) == done
    with pytest.raises(ConfigurationError):
        Condenser(str(path))


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys; from condense_cli import Condenser; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "condense_cli.rows.condenser" in modules
    assert not {"condense_cli.api", "msgspec", "yaml", "splintr", "pyarrow", "numpy"} & {*modules}


def test_arrow_tables_keep_their_types() -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int16()),
            "messages": pa.chunked_array([pa.array([chat(), None]), pa.array([chat(SHORT), chat()])]),
        }
    )
    done = Condenser("speed")(table)
    assert done.schema.names == ["id", "messages", "tokens_before", "tokens_after", "error"]
    assert done.schema.field("messages") == table.schema.field("messages")
    assert done["id"].to_pylist() == [1, 2, 3, 4]
    assert [str(done.schema.field(name).type) for name in ("tokens_before", "error")] == ["int64", "string"]
    assert done["error"].to_pylist() == ["", "it has no value.", "", ""]
    assert done["messages"][1].as_py() is None
    assert done["messages"][2] == table["messages"][2]
    for row in (0, 3):
        assert without_nulls(done["messages"][row].as_py()) == without_nulls(condensed())
    [batch] = Condenser("speed")(table.combine_chunks().to_batches()[0]).to_pylist()[:1]
    assert without_nulls(batch["messages"]) == without_nulls(condensed())


def test_a_cell_that_its_type_cannot_hold_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from condense_cli.rows import arrow

    def grown(*given: Any) -> Any:
        found = worked(*given)
        return found and found.replace(b'"role"', b'"part":1,"role"', 1)

    from condense_cli.rows import mapping

    worked = mapping._worked
    monkeypatch.setattr(mapping, "_worked", grown)
    table = pa.table({"messages": [chat(), chat(SHORT)]})
    done = Condenser("speed")(table)
    assert done["messages"] == table["messages"]
    assert "cannot hold" in done["error"][0].as_py()
    assert done["tokens_before"][0] == done["tokens_after"][0]

    class View(dict[str, Any]):
        """A dict that is a view of a table, as datasets hand over."""

        pa_table = table

    done = Condenser("speed")(View(messages=table["messages"].to_pylist()))
    assert done["messages"] == table["messages"].to_pylist()
    assert "cannot hold" in done["error"][0]
    assert arrow.batch_of(table, "messages").columns == ["messages"]


# NumPy makes a table of lists that have one length.
def test_numpy_columns_of_equally_many_messages() -> None:
    cells = np.array([chat(), chat()], dtype=object)
    assert cells.ndim == 2
    found = Condenser("speed")({"messages": cells})["messages"]
    assert found.shape == (2,)
    assert [without_nulls(each) for each in found] == [without_nulls(condensed())] * 2


def test_numpy_columns() -> None:
    cells = np.empty(2, dtype=object)
    cells[:] = [np.array(chat(), dtype=object), np.array(chat(SHORT), dtype=object)]
    done = Condenser("speed")({"id": np.arange(2), "messages": cells})
    assert isinstance(done["messages"], np.ndarray)
    assert without_nulls(done["messages"][0]) == without_nulls(condensed())
    assert done["messages"][1] is cells[1]
    assert done["tokens_before"][0] > done["tokens_after"][0]


def test_it_is_named_in_the_package() -> None:
    assert "Condenser" in condense_cli.__all__
