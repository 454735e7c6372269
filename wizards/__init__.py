from . import action_try, definition_review, lock
