"""Questions of servers, and tools that ask them."""

import json

from services.testing.fake_tools import text

NAME = {"type": "object", "properties": {"name": {"type": "string", "default": "Ann"}}}
QUESTION = {"mode": "form", "message": "Who?", "requestedSchema": NAME}


def asks(*questions, state=None):
    """A tool that asks each question in turn, then says what it was told."""

    async def tool(call):
        asked = call.fake.asked = getattr(call.fake, "asked", 0) + 1
        given = call.params.get("inputResponses") or {}
        if asked <= len(questions):
            ask = {"method": "elicitation/create", "params": questions[asked - 1]}
            more = {"requestState": state} if state else {}
            return {"resultType": "input_required", "inputRequests": {"q": ask}, **more}
        return text(json.dumps([given, call.params.get("requestState")]))

    return tool
