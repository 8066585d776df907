// A chat in a page, as a person uses and sees it. The elements of all pages are selected in the same
// way, unless a page's library brings its own.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "./cases.mjs";

// `message` and `reply` are the messages of the user and of the agent, `photo` is one in those of the user. `attach` opens
// the dialog for files, perhaps in several steps.
const ELEMENTS = {
  message: "article.user p",
  photo: "article.user img",
  attach: ".attach",
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

// Paints a broken parcel with the grain of a photo, in a page. Returns its data URL.
const paintParcel = () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 360 });
  const context = canvas.getContext("2d");
  const fill = (colour, ...area) => {
    context.fillStyle = colour;
    context.fillRect(...area);
  };
  fill("#5d6b75", 0, 0, 640, 360);
  fill("#b98a55", 140, 60, 360, 250);
  fill("#e3d3ae", 300, 60, 40, 250);
  fill("#2b1d12", 410, 190, 90, 120);
  const image = context.getImageData(0, 0, 640, 360);
  image.data.forEach((value, index) => (image.data[index] = index % 4 === 3 ? 255 : value + 50 * (Math.random() - 0.5)));
  context.putImageData(image, 0, 0);
  return canvas.toDataURL("image/jpeg", 0.95);
};

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

  // Attaches a photo of about 100 KB to the next message. Returns its data URL.
  async attachPhoto() {
    const url = await this.#page.evaluate(paintParcel);
    const chooser = this.#page.waitForEvent("filechooser");
    for (const step of [this.#elements.attach].flat()) await this.#page.click(step);
    const buffer = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
    await (await chooser).setFiles({ name: "parcel.jpg", mimeType: "image/jpeg", buffer });
    return url;
  }

  // Waits until the only photo of the user is shown, and returns its address.
  photo() {
    const shown = ([photo, ...more]) => photo?.naturalWidth === 640 && more.length === 0 && photo.src;
    return until(() => this.#page.locator(this.#elements.photo).evaluateAll(shown), "one photo");
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
