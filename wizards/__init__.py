from . import action_try, definition_review, lock
from . import template_import
