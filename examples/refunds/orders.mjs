// The orders of the shop, and its records of what was done with them. A record has the id of the call that asked for it.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

const ORDERS = {
  "A-77": { userId: "grace", item: "a kettle", price: "49.00 EUR" },
  "A-78": { userId: "grace", item: "a toaster", price: "35.00 EUR" },
  "A-79": { userId: "grace", item: "a lamp", price: "20.00 EUR" },
  "B-12": { userId: "linus", item: "a desk", price: "310.00 EUR" },
};

/** Opens the records in a file, which they survive. */
export const openOrders = (file) => {
  const records = read(file);
  const orderOf = (userId, id) => {
    const order = ORDERS[id.toUpperCase()];
    if (order?.userId !== userId) throw new Error(`You have no order ${id}.`);
    return { id: id.toUpperCase(), ...order, done: records.find(({ orderId }) => orderId === id.toUpperCase())?.done };
  };
  return {
    orderOf,
    /** Does something with an order, once for a call: a repetition of the call gets the first record. */
    act(callId, userId, id, done) {
      const known = records.find((record) => record.callId === callId);
      if (known) return known;
      const order = orderOf(userId, id);
      if (order.done) throw new Error(`Order ${order.id} is ${order.done} already.`);
      const record = { callId, userId, orderId: order.id, done, price: order.price };
      records.push(record);
      // A file that is replaced is never half written.
      writeFileSync(`${file}.new`, JSON.stringify(records, null, 2));
      renameSync(`${file}.new`, file);
      return record;
    },
  };
};

const read = (file) => {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
};
