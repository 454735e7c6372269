"""What a model reads behind the result of a failed call."""

from turns import turn

from services.specs import CallResult, ToolCall, ToolSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn import advice

ZONES = {"type": "string", "enum": ["Europe/Paris", "Europe/Rome", "Asia/Taipei"]}


def call(arguments, properties):
    tool = ToolSpec(
        id=1, server_id=1, name="now", alias="now", input_schema={"properties": properties}
    )
    return ToolCall(id="a", alias="now", round=1, tool=tool, arguments=arguments)


def failed(outcome="invalid_args"):
    return CallResult(outcome=outcome, text="No.")


def test_the_nearest_permitted_values_are_named():
    for schema in (ZONES, {"anyOf": [ZONES, {"type": "null"}]}):
        said = advice.behind(call({"zone": "Europe/Pari"}, {"zone": schema}), failed(), [])
        assert said == f"For zone there is: Europe/Paris, Europe/Rome. {advice.NO_ANSWER}"


def test_values_of_earlier_results_are_named():
    earlier = [{"role": "tool", "outcome": "ok", "content": '["Azure Interior", "Deco Addict"]'}]
    said = advice.behind(call({"name": "Azur Interior"}, {}), failed("error"), earlier)
    assert said.startswith("For name there is: Azure Interior. ")


def test_what_is_permitted_or_resembles_nothing_is_not_named():
    assert (
        advice.behind(call({"zone": "Asia/Taipei"}, {"zone": ZONES}), failed(), [])
        == advice.NO_ANSWER
    )
    assert (
        advice.behind(call({"zone": "xyz", "n": 3}, {"zone": ZONES}), failed(), [])
        == advice.NO_ANSWER
    )


def test_results_and_decisions_of_people_need_no_advice():
    for outcome in ("ok", "denied", "cancelled", "unknown", "timeout"):
        assert advice.behind(call({}, {}), failed(outcome), []) == ""


async def test_the_model_reads_it_and_people_do_not():
    async def fail(_call):
        return text("No time zone was found.", isError=True)

    async with (
        FakeMcp(tools={"now": (fail, OBJECT)}) as fake,
        ScriptedLlm(Reply("", [("fake__now", {})]), Reply("It failed.")) as llm,
    ):
        done = await turn(llm, fake)
    assert (
        llm.requests[1]["messages"][-1]["content"] == f"No time zone was found.\n{advice.NO_ANSWER}"
    )
    assert done.journal.of("tool_result")[0]["result"] == "No time zone was found."
