"""Servers: `monitor` watches a model behind HTTP, `llm` passes chats on; `http` is shared."""
