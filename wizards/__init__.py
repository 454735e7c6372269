from . import action_try, definition_review, lock
from . import action_try, definition_review
from . import template_import
