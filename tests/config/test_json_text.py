"""JSON as people write it: what is read, where it stands, and what every mistake is called."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config.document import Problem, read_document
from mcp_workbench.config.json_text import Json, JsonFloat, Node, NotJson, line_and_column, parse, skip_gap

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
GAPS = st.sampled_from(
    ["", " ", "\n", "\t", "\r\n", "\ufeff", "\u00a0", "// a } comment\n", "/* [ */", '/* " */ // x\n']
)


def failure(text: str) -> str:
    with pytest.raises(NotJson) as caught:
        parse(text)
    return str(caught.value)


class TestWhatIsRead:
    def test_comments_trailing_commas_and_a_byte_order_mark(self) -> None:
        text = '\ufeff// first\n{"a": [1, 2.50, /* in */ true,], // end\n "b": {"c": "//no comment",},\n}\n// last'
        assert parse(text).value == {"a": [1, 2.5, True], "b": {"c": "//no comment"}}

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("'it'", "it"),
            (r"'it\'s \"a\" \\ \u00e9 \n'", 'it\'s "a" \\ \u00e9 \n'),
            ("'say \"hi\"'", 'say "hi"'),
            ("'//'", "//"),
            ('"it\'s"', "it's"),
            ("{bare: 1, $x_2: 2, été: 3, true: 4}", {"bare": 1, "$x_2": 2, "été": 3, "true": 4}),
            ("{'single': null,}", {"single": None}),
            ("[\n1,\n]", [1]),
            ("/**/{}/* x */", {}),
            ("\u00a0[]\u2028", []),
        ],
    )
    def test_what_json5_adds(self, text: str, value: Json) -> None:
        assert parse(text).value == value

    @given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
    def test_plain_json_is_read_as_the_standard_library_reads_it(self, value: Json, indent: Any, ascii_: bool) -> None:
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
        assert parse(text).value == value
        if text.strip():
            assert read_document(text).value == value

    def test_a_number_keeps_its_spelling(self) -> None:
        number = parse("3.10").value
        assert isinstance(number, JsonFloat)
        assert number.text == "3.10"


class TestPlaces:
    TEXT = "{\n  // one\n  name: 'x', \"list\": [10,\n    {deep: true}]\n}"

    @pytest.mark.parametrize(
        ("path", "source"),
        [((), None), (("name",), "'x'"), (("list",), None), (("list", 0), "10"), (("list", 1, "deep"), "true")],
    )
    def test_every_value_knows_where_it_stands(self, path: tuple[str | int, ...], source: str | None) -> None:
        node = parse(self.TEXT).at(path)
        assert node is not None
        assert parse(self.TEXT[node.start : node.end]).value == node.value
        assert source is None or self.TEXT[node.start : node.end] == source

    def test_every_key_knows_where_it_stands(self) -> None:
        members = parse(self.TEXT).members
        keys = {key: self.TEXT[node.key_start :][: len(key) + 2] for key, node in members.items() if node.key_start}
        assert keys == {"name": "name: ", "list": '"list"'}

    def test_what_is_not_there_has_no_place(self) -> None:
        root = parse(self.TEXT)
        assert [root.at(path) for path in ((1,), ("x",), ("list", 2), ("list", "x"), ("name", "x", "y"))] == [None] * 5

    def test_lines_and_columns_count_from_one(self) -> None:
        assert [line_and_column("a\nbc\r\nd", at) for at in (0, 1, 2, 3, 6)] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]

    def test_a_gap_ends_where_something_stands(self) -> None:
        assert skip_gap(" /* x */ // y\n 1", 0) == 15

    @given(value=VALUES, data=st.data())
    def test_no_gap_changes_values_or_misplaces_them(self, value: Json, data: st.DataObject) -> None:
        text = "".join(spaced(value, lambda: data.draw(GAPS)))
        root = parse(text)
        assert root.value == value
        check_places(text, root)


def spaced(value: Json, gap: Any) -> Any:
    yield gap()
    if isinstance(value, dict):
        yield "{"
        for key, item in value.items():
            yield f"{gap()}{json.dumps(key)}{gap()}:"
            yield from spaced(item, gap)
            yield ","
        yield gap() + "}"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from spaced(item, gap)
            yield ","
        yield gap() + "]"
    else:
        yield json.dumps(value)
    yield gap()


def check_places(text: str, node: Node) -> None:
    assert parse(text[node.start : node.end]).value == node.value
    for key, member in node.members.items():
        assert member.key_start is not None
        assert text[member.key_start :].startswith(json.dumps(key))
        check_places(text, member)
    for item in node.items:
        check_places(text, item)


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "place", "problem"),
        [
            ("", "1, column 1", "the document ends too early"),
            ("// only\n", "2, column 1", "the document ends too early"),
            ("{", "1, column 2", "the document ends too early"),
            ('{"a": 1', "1, column 8", "the document ends too early"),
            ('{"a" 1}', "1, column 6", "a colon must stand between"),
            ('{"a": 1\n "b": 2}', "2, column 2", "a comma may be missing before this"),
            ('{"a": nope}', "1, column 7", "text must stand in quotes"),
            ('{"a": True}', "1, column 7", "write true"),
            ('{"a": None}', "1, column 7", "write null"),
            ('{"a": }', "1, column 7", "a value must stand here"),
            ("[1,,2]", "1, column 4", "a value must stand here; there may be a comma too many"),
            ("{my-key: 1}", "1, column 4", "a colon must stand between"),
            ("{1: 1}", "1, column 2", "a key must stand here, in quotes unless it is a plain word"),
            ('{"a": 1}\n  x', "2, column 3", "the document has ended before this"),
            ('{"a": 1, "a": 2}', "1, column 10", "this key is given more than once"),
            ('{"a": "C:\\Users"}', "1, column 10", "write a backslash in a string as \\\\"),
            ("'C:\\x41'", "1, column 4", "write a backslash in a string as \\\\"),
            ('"\\u00g0"', "1, column 2", "\\u must be followed by four hexadecimal digits"),
            ('{"a": "b\n}', "1, column 9", "a string must not contain a line break or tab"),
            ('"\t"', "1, column 2", "a string must not contain a line break or tab"),
            ('"abc', "1, column 1", "the string that begins here has no closing quote"),
            ('"abc\\', "1, column 1", "the string that begins here has no closing quote"),
            ('{"a": 1 /* never closed }', "1, column 9", "the comment that begins here has no end"),
            ("# x\n{}", "1, column 1", "a comment begins with // here"),
            ("[01]", "1, column 2", "this is not a number"),
            ("[.5]", "1, column 2", "this is not a number"),
            ("[1.]", "1, column 2", "this is not a number"),
            ("[0x1F]", "1, column 2", "this is not a number"),
            ("[+1]", "1, column 2", "this is not a number"),
            ("[-]", "1, column 2", "this is not a number"),
            ("[NaN]", "1, column 2", "NaN and Infinity are not JSON"),
            ("[-Infinity]", "1, column 2", "NaN and Infinity are not JSON"),
            ("1" * 5000, "1, column 1", "a number in the document is too long"),
            ("[" * 100_000, "1, column 129", "nested too deeply"),
        ],
    )
    def test_each_has_its_place_and_a_hint(self, text: str, place: str, problem: str) -> None:
        assert failure(text).startswith(f"line {place}: {problem}") or problem in failure(text)
        assert failure(text).startswith(f"line {place}: ")

    @given(st.text("{}[]\"',:/*\\ \n01.-aeN") | st.text(st.characters(categories=None)))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        with suppress(NotJson):
            check_places(text, parse(text))


class TestDocuments:
    @pytest.mark.parametrize("text", ['{"a": [1, 2.0, "x"]}', "{a: [1, 2.0, 'x'],} // JSON5"])
    def test_both_ways_of_reading_agree(self, text: str) -> None:
        assert read_document(text).value == {"a": [1, 2.0, "x"]}

    def test_of_a_repeated_key_every_repetition_is_named(self) -> None:
        document = read_document('{"a": 1,\n "b": [{"c": 1, "c": 2}], "a": 3}')
        assert [(str(defect), document.place(defect)) for defect in document.defects] == [
            ("b[0].c: this key is given more than once; keep one of them", (2, 17)),
            ("a: this key is given more than once; keep one of them", (2, 27)),
        ]

    def test_a_number_that_is_none_is_a_defect_in_every_spelling(self) -> None:
        document = read_document("[NaN, Infinity, -Infinity]")
        assert [defect.path for defect in document.defects] == [(0,), (1,), (2,)]
        assert isinstance(document.value, list)
        assert not any(isinstance(number, float) and math.isfinite(number) for number in document.value)

    def test_a_problem_stands_at_its_value_its_key_or_what_is_around_it(self) -> None:
        document = read_document('{\n  "a": {"b": 1}\n}')
        assert document.place(Problem(("a", "b"), "x")) == (2, 14)
        assert document.place(Problem(("a", "b"), "x", at_key=True)) == (2, 9)
        assert document.place(Problem(("a", "missing"), "x")) == (2, 8)
        assert document.place(Problem(("no", "such"), "x")) == (1, 1)

    @pytest.mark.parametrize("depth", [127, 128, 129, 5000])
    def test_the_depth_bound_is_the_same_for_both_ways_of_reading(self, depth: int) -> None:
        for text in ("[" * depth + "]" * depth, "// not plain JSON\n" + "[" * depth + "]" * depth):
            if depth <= 128:
                read_document(text)
                continue
            with pytest.raises(NotJson, match="nested too deeply"):
                read_document(text)
