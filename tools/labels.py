"""Names of things of Odoo, as people read them, and where people open them."""


def of_model(model):
    """The name of a model in the language of its environment; its `_description` is English.

    :param model: a recordset of it
    """
    # `_get` reads it with sudo: the name of a model tells nothing of its records.
    return model.env["ir.model"]._get(model._name).name or model._description


def of_models(env, names):
    """``{model: name}`` of several, in one statement.

    :param names: technical names of models
    """
    # sudo: ir.model - as `_get`
    found = env["ir.model"].sudo().search([("model", "in", list(names))])
    return {one.model: one.name for one in found}


def link(record, is_portal):
    """URL at which a person opens a record; None where a portal user has no page of it.

    :param record: that the person may read
    :param is_portal: whether the person is a portal user
    """
    if not is_portal:
        return f"/odoo/{record._name}/{record.id}"
    url = "access_url" in record._fields and record.access_url
    return url if url and url != "#" else None
