// The tool of the pages: its name, and the description of its arguments.
export const openCart = {
  name: "open_cart",
  description: "Opens the cart.",
  parameters: { type: "object", properties: { tab: { type: "integer" } }, required: ["tab"] },
};
