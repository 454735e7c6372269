from . import audit_mixin
from . import record_mixins
from . import secret_mixin
from . import exchange_mixin
from . import lock_mixin
