"""A gateway before a language model: forwards chats, scores some, watches their gamma."""
