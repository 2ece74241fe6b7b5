"""Changes to TOML: only the servers concerned move, whatever stands around them."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.clients.json_edit import with_value, without_value
from mcp_workbench.clients.toml_edit import parse, remove_value, set_value
from mcp_workbench.config.json_text import NotJson

TEXT = '''# my settings
model = "gpt-5" # a good one

[mcp_servers.one]
command = "a" # with a comment
args = ["""
[mcp_servers.no_header]
"""]

[mcp_servers.one.env]
KEY = "1"

# about the second
[mcp_servers."the second"]
command = "b"

[[profiles]]
name = "x"
# the end
'''


class TestEditing:
    def test_a_table_goes_to_the_end_and_everything_else_stays(self) -> None:
        changed = set_value(TEXT, ["mcp_servers", "new"], {"command": "c", "args": ["-x"], "env": {"A": "b"}})
        assert changed == (
            f'{TEXT}\n[mcp_servers.new]\ncommand = "c"\nargs = ["-x"]\n\n[mcp_servers.new.env]\nA = "b"\n'
        )
        assert remove_value(changed, ["mcp_servers", "new"]) == TEXT

    def test_a_table_goes_with_its_inner_ones_and_the_comment_of_the_next_stays(self) -> None:
        changed = remove_value(TEXT, ["mcp_servers", "one"])
        assert changed == TEXT[: TEXT.index("[mcp_servers.one]")] + TEXT[TEXT.index("# about the second") :]

    def test_a_quoted_name_is_found(self) -> None:
        changed = remove_value(TEXT, ["mcp_servers", "the second"])
        assert "the second" not in tomllib.loads(changed)["mcp_servers"]
        assert '[[profiles]]\nname = "x"\n# the end\n' in changed

    def test_what_is_not_there_cannot_go_and_what_is_there_need_not_come(self) -> None:
        assert remove_value(TEXT, ["mcp_servers", "none"]) is TEXT
        assert set_value(TEXT, ["mcp_servers", "the second"], {"command": "b"}) is TEXT

    @pytest.mark.parametrize(
        "text",
        [
            'mcp_servers = {one = {command = "a"}, two = {command = "b"}}\n',
            'mcp_servers.one.command = "a"\nmcp_servers.two.command = "b"\n',
            '[mcp_servers]\none = {command = "a"}\ntwo = {command = "b"} # mine\n',
        ],
    )
    def test_servers_that_stand_in_another_way_are_changed_too(self, text: str) -> None:
        old = tomllib.loads(text)
        changed = remove_value(text, ["mcp_servers", "one"])
        assert tomllib.loads(changed) == without_value(old, ["mcp_servers", "one"])

    def test_windows_line_ends_and_a_byte_order_mark_stay(self) -> None:
        text = "\ufeff" + TEXT.replace("\n", "\r\n")
        changed = set_value(text, ["mcp_servers", "new"], {"command": "c"})
        assert changed == text + '\r\n[mcp_servers.new]\r\ncommand = "c"\r\n'
        assert remove_value(changed, ["mcp_servers", "new"]) == text

    def test_an_empty_file_gets_the_table_alone(self) -> None:
        assert set_value("", ["mcp_servers", "new"], {"command": "c"}) == '[mcp_servers.new]\ncommand = "c"\n'

    @given(
        st.dictionaries(st.text(), st.dictionaries(st.text(min_size=1), st.text(), min_size=1), max_size=3),
        st.text(),
        st.dictionaries(st.text(min_size=1), st.text(), min_size=1),
    )
    def test_whatever_the_names_the_result_is_the_old_file_with_the_change(
        self, servers: dict[str, dict[str, str]], name: str, value: dict[str, str]
    ) -> None:
        text = "# top\n"
        for each, entry in servers.items():
            text = set_value(text, ["mcp_servers", each], entry)
        old = tomllib.loads(text)
        changed = set_value(text, ["mcp_servers", name], value)
        assert tomllib.loads(changed) == with_value(old, ["mcp_servers", name], value)
        if name not in servers:
            assert remove_value(changed, ["mcp_servers", name]) == text


def test_what_is_not_toml_is_said_with_its_place() -> None:
    with pytest.raises(NotJson, match="line 2, column 5: not valid TOML: "):
        parse("a = 1\nb = \n")


def test_dates_are_read_as_text() -> None:
    assert parse("a = 2026-01-01\n") == {"a": "2026-01-01"}
