from . import dispatcher
from . import chat
from . import decision
from . import health
from . import offers
from . import portal
from . import retrieval
from . import stream
