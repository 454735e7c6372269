import { registry } from "@web/core/registry";

registry.category("web_tour.tours").add("woow_paas_platform.admin", {
    url: "/odoo/action-woow_paas_platform.mcp_server_action",
    steps: () => [
        {
            content: "add a server",
            trigger: ".o_list_button_add",
            run: "click",
        },
        {
            content: "a name is enough …",
            trigger: "div[name=name] input",
            run: "edit Tour Server",
        },
        {
            content: "… with an address",
            trigger: "div[name=url] input",
            run: "edit https://tour.example.com/mcp",
        },
        {
            trigger: ".o_form_button_save",
            run: "click",
        },
        {
            content: "the server is kept; its tools are read after the commit",
            trigger: ".o_form_saved",
        },
        {
            content: "to the assistants",
            trigger: ".o_main_navbar [data-menu-xmlid='woow_paas_platform.menu_ai']",
            run: "click",
        },
        {
            trigger: ".dropdown-item[data-menu-xmlid='woow_paas_platform.menu_assistants']",
            run: "click",
        },
        {
            trigger: ".o_breadcrumb:contains(Assistants)",
        },
        {
            content: "add an assistant",
            trigger: ".o_list_button_add",
            run: "click",
        },
        {
            trigger: "div[name=name] input",
            run: "edit Tour Assistant",
        },
        {
            trigger: "div[name=config_id] input",
            run: "edit Tour Provider",
        },
        {
            trigger: ".o-autocomplete--dropdown-item:contains(Tour Provider)",
            run: "click",
        },
        {
            content: "to its tools",
            trigger: ".o_notebook .nav-link[name=tools]",
            run: "click",
        },
        {
            content: "use the new server",
            trigger: ".o_woow_tool_server[data-server='Tour Server'] .o_woow_server_switch input",
            run: "click",
        },
        {
            content: "use the other server …",
            trigger: ".o_woow_tool_server[data-server='weather'] .o_woow_server_switch input",
            run: "click",
        },
        {
            content: "… without one of its tools",
            trigger: ".o_woow_tool[data-tool='alerts'] input:checked",
            run: "click",
        },
        {
            trigger:
                ".o_woow_tool_server[data-server='weather'] .o_woow_tool_count:contains(1 of 2 tools)",
        },
        {
            trigger: ".o_form_button_save",
            run: "click",
        },
        {
            trigger: ".o_form_saved",
        },
    ],
});
