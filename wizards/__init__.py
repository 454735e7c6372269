from . import action_try, call_preview, configuration_transfer, definition_review, lock
from . import personal_data_dialog, retention, template_import
