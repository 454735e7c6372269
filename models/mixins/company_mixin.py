from odoo import fields, models


class CompanyMixin(models.AbstractModel):
    """A record of one company, or shared by all. Record rules decide who sees it, at every entrance: what a chat
    may use is read as its person. Records refer only to what their company may use, so nothing leads around them.
    """

    _name = "woow_paas_platform.company.mixin"
    _description = "Company Mixin"
    _check_company_auto = True
    _check_company_domain = models.check_company_domain_parent_of

    company_id = fields.Many2one(
        "res.company",
        index="btree_not_null",
        help="Only users of this company and its branches can use it. Leave empty to share it with all companies.",
    )
