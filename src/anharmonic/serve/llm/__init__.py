"""A gateway before a language model: passes chats on, measures some, watches their gamma."""
