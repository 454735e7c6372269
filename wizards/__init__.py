from . import action_try, call_preview, definition_review, lock
from . import template_import
