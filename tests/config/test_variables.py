"""`${VAR}` and `${VAR:-default}`: every rule of the expander, one sentence each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config.document import Json
from mcp_workbench.config.variables import expand

ENVIRON = {"TOKEN": "s3cret", "EMPTY": "", "REF": "${TOKEN}", "_A1": "under", "NAME": "dev"}
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def expanded(text: str) -> Json:
    expansion = expand(text, ENVIRON)
    assert expansion.problems == ()
    return expansion.value


def problems(value: Json) -> list[str]:
    return [str(problem) for problem in expand(value, ENVIRON).problems]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${TOKEN}", "s3cret"),
        ("Bearer ${TOKEN}!", "Bearer s3cret!"),
        ("${TOKEN}${NAME}", "s3cretdev"),
        ("${_A1}", "under"),
        ("${UNSET:-info}", "info"),
        ("${TOKEN:-info}", "s3cret"),
        ("${UNSET:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-info}", ""),
        ("${UNSET:-two\nlines}", "two\nlines"),
        ("${UNSET:-a:-b}", "a:-b"),
        ("${UNSET:-${TOKEN}}", "${TOKEN}"),
        ("${REF}", "${TOKEN}"),
        ("$${TOKEN}", "${TOKEN}"),
        ("$$${TOKEN}", "$${TOKEN}"),
        ("$${", "${"),
        ("$${lower", "${lower"),
        ("$", "$"),
        ("$$", "$$"),
        ("$TOKEN", "$TOKEN"),
        ("cost: 5$ {TOKEN}", "cost: 5$ {TOKEN}"),
        ("{TOKEN}", "{TOKEN}"),
    ],
)
def test_a_string_is_expanded_by_the_rules(text: str, result: str) -> None:
    assert expanded(text) == result


@pytest.mark.parametrize("inside", ["lower", "1X", "", " TOKEN", "TOKEN ", "TOKEN-x", "TOKEN:x", "A.B", "É", "TOKEN\n"])
def test_text_in_braces_that_is_no_reference_is_an_error_that_names_the_rule(inside: str) -> None:
    (problem,) = problems({"key": "ab${" + inside + "}"})
    assert problem.startswith("key: the ${ at character 3 begins no reference; write ${NAME} or ${NAME:-default}")
    assert "$${" in problem


@pytest.mark.parametrize("text", ["${", "${TOKEN", "x ${TOKEN:-default", "${TOKEN} ${"])
def test_a_brace_that_is_not_closed_is_an_error(text: str) -> None:
    (problem,) = problems({"key": text})
    assert "has no closing brace" in problem


def test_an_unset_variable_is_named_with_its_path_and_the_line_to_run() -> None:
    value: Json = {"toolboxes": {"dev": {"mcpServers": {"api": {"env": {"API_KEY": "${API_KEY}"}}}}}}
    (problem,) = problems(value)
    assert problem.startswith("toolboxes.dev.mcpServers.api.env.API_KEY: variable API_KEY is not set")
    assert "export API_KEY=value" in problem


def test_a_variable_that_is_not_text_is_an_error_that_does_not_show_it() -> None:
    (problem,) = expand({"${RAW}": "x"}, {"RAW": "s3cret\udc80"}).problems
    assert str(problem) == "${RAW}: variable RAW does not hold valid Unicode text"


def test_all_mistakes_are_collected() -> None:
    found = problems({"a": "${ONE} ${TWO}", "b": ["x", "${lower}"], "${THREE}": 1})
    assert [problem.split(":")[0] for problem in found] == ["a", "a", "b[1]", "${THREE}"]


def test_a_mistake_quotes_no_text_of_the_value() -> None:
    assert "hunter2" not in str(problems({"a": "hunter2 ${hunter2} ${UNSET} ${hunter2"}))


def test_keys_are_expanded_too() -> None:
    assert expand({"${NAME}": {"x-${NAME}": 1}}, ENVIRON).value == {"dev": {"x-dev": 1}}


def test_keys_that_become_the_same_are_an_error() -> None:
    (problem,) = problems({"toolboxes": {"dev": 1, "${NAME}": 2}})
    assert problem == "toolboxes.${NAME}: means the same key as 'dev' beside it; rename one of them"


def test_paths_lead_back_to_the_keys_of_the_file() -> None:
    expansion = expand({"toolboxes": {"${NAME}": {"${TOKEN}": [1]}}}, ENVIRON)
    assert expansion.in_source(("toolboxes", "dev", "s3cret", 0)) == ("toolboxes", "${NAME}", "${TOKEN}", 0)


def test_mistakes_below_an_expanded_key_name_the_key_of_the_file() -> None:
    assert problems({"${TOKEN}": "${UNSET}"})[0].startswith("${TOKEN}: variable UNSET")


def test_uses_tell_which_values_went_where() -> None:
    expansion = expand({"${NAME}": ["${TOKEN}", "${UNSET:-default}", "$${TOKEN}"]}, ENVIRON)
    assert [(use.path, use.variable, use.value) for use in expansion.uses] == [
        (("dev",), "NAME", "dev"),
        (("dev", 0), "TOKEN", "s3cret"),
    ]


def test_the_value_of_a_use_is_not_in_its_repr() -> None:
    assert "s3cret" not in repr(expand("${TOKEN}", ENVIRON).uses)


def test_what_is_not_a_string_stays_as_it_is() -> None:
    value: Json = {"a": [1, 2.5, True, None, {}]}
    assert expand(value, ENVIRON).value == value


@given(value=JSON)
def test_a_value_without_a_reference_is_never_changed(value: Json) -> None:
    expansion = expand(value, ENVIRON)
    if "${" not in repr(value):
        assert repr(expansion.value) == repr(value)
        assert not expansion.uses
        assert not expansion.problems


@given(before=st.text("ab$ {}"), secret=st.text("ab$ {}TOKEN"))
def test_what_a_variable_holds_is_never_expanded(before: str, secret: str) -> None:
    text = before.replace("${", "") + " ${TOKEN}"
    if "${" not in text[:-8]:
        assert expand(text, {"TOKEN": secret}).value == text[:-8] + secret


@given(text=st.text("aT$ {}:-"))
def test_a_doubled_dollar_escapes_every_text(text: str) -> None:
    escaped = text.replace("${", "$${")
    assert expand(escaped, {}).value == text


@given(text=st.text("${}AT_a:-\n"))
def test_any_text_gives_a_string(text: str) -> None:
    assert isinstance(expand(text, {"A": "x"}).value, str)
