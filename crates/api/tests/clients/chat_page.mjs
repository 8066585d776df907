// A chat in a page, as a person uses and sees it. The elements of all pages are selected in the same
// way, unless a page's library brings its own.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "./cases.mjs";

// `message` and `reply` are the messages of the user and of the agent.
const ELEMENTS = {
  message: "article.user p",
  reply: "article.assistant",
  input: "[name=message]",
  send: "button.send",
  stop: "button.stop",
  regenerate: "button.regenerate >> nth=-1",
  approve: "button.approve",
  deny: "button.deny",
};

// The folder for screenshots, if any.
const screenshots = process.env.SCREENSHOTS;

export class ChatPage {
  #page;
  #elements;
  #name;
  #stored;

  // `stored` returns the messages and turns of the chat in the service.
  constructor(page, { elements = {}, name, stored }) {
    this.#page = page;
    this.#elements = { ...ELEMENTS, ...elements };
    this.#name = name;
    this.#stored = stored;
  }

  get page() {
    return this.#page;
  }

  stored() {
    return this.#stored();
  }

  async load(url) {
    await this.#page.goto(url);
    await this.#page.waitForSelector(this.#elements.input);
  }

  // Reloads the page.
  async reload() {
    await this.#page.reload();
    await this.#page.waitForSelector(this.#elements.input);
  }

  async send(text) {
    await this.#page.fill(this.#elements.input, text);
    await this.#page.click(this.#elements.send);
  }

  click(name) {
    return this.#page.click(this.#elements[name]);
  }

  // The texts of the user's messages, or of the replies.
  async texts(kind) {
    return (await this.#page.locator(this.#elements[kind]).allInnerTexts()).map((text) => text.trim());
  }

  // The text of the last reply; empty without one.
  async lastReply() {
    return (await this.texts("reply")).at(-1) ?? "";
  }

  // Waits until the last reply contains a text.
  showsReply(text) {
    return until(async () => (await this.lastReply()).includes(text), `the reply ${text}`);
  }

  // The number of calls that wait for approval.
  questions() {
    return this.#page.locator(this.#elements.approve).count();
  }

  // Waits for a call to be approved.
  asks() {
    return until(async () => (await this.questions()) === 1, "one question");
  }

  // Waits until the turns of the chat have these statuses.
  hasTurns(...statuses) {
    const isSo = async () => (await this.#stored()).turns.map((turn) => turn.status).join() === statuses.join();
    return until(isSo, `the turns ${statuses}`);
  }

  // Saves a screenshot, if a folder for them is named.
  async screenshot(moment) {
    if (!screenshots) return;
    mkdirSync(screenshots, { recursive: true });
    await this.#page.screenshot({ path: join(screenshots, `${this.#name}-${moment}.png`) });
  }
}
