"""The tools that the demo's assistant has: a small model chooses better among few."""

TOOLS = (
    "convert_time",
    "echo",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "get_current_time",
    "trigger-long-running-operation",
)  # get-env is left out, too: it shows its server's environment
