from . import odoo_host
