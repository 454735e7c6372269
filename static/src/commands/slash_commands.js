/**
 * What can be typed after a slash, as pure data.
 *
 * @typedef {Object} SlashCommand
 * @property {string} name with its slash; what completes to it
 * @property {string} about
 * @property {boolean} [takesWords] what stands behind it is for it
 * @property {Object|null} prompt of a server, as `GET …/prompts` lists it
 */

/** `/server:prompt`; blanks would end the name. */
export function promptCommand(prompt) {
    const name = `/${prompt.server.name}:${prompt.name}`.replace(/\s+/g, "_");
    return { name, about: prompt.title || prompt.description || "", prompt };
}

/** @returns {SlashCommand[]} those that the text may become; a text that is no command has none */
export function matchingCommands(commands, text) {
    if (!text.startsWith("/") || text.includes("\n")) {
        return [];
    }
    const typed = text.toLowerCase();
    return commands.filter(({ name }) => name.toLowerCase().startsWith(typed));
}

/** @returns {string} the first word of a text that looks like a command; a path or a second line is no command */
export function commandName(text) {
    return /^\/[\w:.-]+(?=[^\S\n]|$)/.exec(text)?.[0] ?? "";
}

/** @returns {SlashCommand|undefined} the command that the text is, with the `words` behind it if it takes some */
export function commandOf(commands, text) {
    const typed = text.trim();
    const found = commands.find(({ name }) => name.toLowerCase() === typed.toLowerCase());
    if (found) {
        return found;
    }
    const name = commandName(typed);
    const command = commands.find((one) => one.takesWords && one.name === name.toLowerCase());
    return command && { ...command, words: typed.slice(name.length).trim() };
}
