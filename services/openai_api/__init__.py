"""Chat completions of the OpenAI API, for clients that use an assistant as if it were a model.

It keeps nothing and reads no socket: `question` reads what a client sends, `answer` says what the events of a turn are
in that API.
"""
