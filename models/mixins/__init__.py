from . import audit_mixin
from . import readonly_mixin
from . import secret_mixin
from . import company_mixin
from . import exchange_mixin
from . import filter_mixin
from . import lock_mixin
