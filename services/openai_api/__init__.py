"""Chat completions and responses of the OpenAI API, for clients that use an assistant as if it were a model.

It keeps nothing and reads no socket: `question` and `response_question` read what a client sends, `answer` and
`response` say what the events of a turn are in that API.
"""
