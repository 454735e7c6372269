/**
 * Runs an action, and keeps in `state` that it runs (`isBusy`) and how it failed (`error`).
 *
 * @param {{isBusy: boolean, error: ?Error}} state
 * @param {() => Promise<void>} action
 */
export async function attempt(state, action) {
    Object.assign(state, { isBusy: true, error: null });
    try {
        await action();
    } catch (error) {
        state.error = error;
    }
    state.isBusy = false;
}
