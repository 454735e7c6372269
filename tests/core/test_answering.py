"""What the benchmark beside another agent counts as a task that is done."""

from benchmarks.answering import pool as pools
from benchmarks.answers import Task
from services.specs import ToolSpec

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def tool(number, schema=NUMBER):
    return ToolSpec(
        id=number, server_id=number % 3, name=f"t{number}", alias=f"t{number}", input_schema=schema
    )


TOOLS = [tool(number) for number in range(30)]
TASK = Task("Do it.", ["one", "two"], ["t1", "t2"])


def test_a_pool_has_what_is_needed_once_and_is_the_same_each_time():
    pool = pools.pool_for(TASK, 7, [*TOOLS, tool(1)], 10)
    assert len(pool.names) == len({*pool.names}) == 10 and {"t1", "t2"} <= {*pool.names}
    assert pool == pools.pool_for(TASK, 7, [*TOOLS, tool(1)], 10)
    assert pool != pools.pool_for(TASK, 8, [*TOOLS, tool(1)], 10)


def test_each_needed_tool_has_to_be_called_with_what_fits():
    pool = pools.pool_for(TASK, 7, TOOLS, 10)

    def verdict(*calls):
        found = pools.judge(TASK, pool, calls)
        return found.chosen, found.valid, found.success

    assert verdict(("t1", {"n": 1}), ("t2", {"n": 2}), ("t9", {})) == (2, 2, True)
    assert verdict(("t1", {"n": 1}), ("t2", {"n": "two"})) == (2, 1, False)
    assert verdict(("t2", {}), ("t2", {"n": 2})) == (1, 1, False)
    assert verdict() == (0, 0, False)
