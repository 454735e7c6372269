import { loadBundle } from "@web/core/assets";
import { registry } from "@web/core/registry";
import { errorFromFailure } from "../core/api_error";

/**
 * @param {string} name under which the bundle registers the component
 * @returns {Function|null} the component, if its bundle is loaded
 */
export function lazyComponent(name) {
    return registry.category("lazy_components").get(`woow_paas_platform.${name}`, null);
}

/**
 * @returns {Promise<Function>} the component, after its bundle was loaded
 * @throws {AiApiError} the bundle does not come
 */
export async function loadComponent(bundle, name) {
    try {
        await loadBundle(bundle);
    } catch (failure) {
        throw errorFromFailure(failure);
    }
    return lazyComponent(name);
}
