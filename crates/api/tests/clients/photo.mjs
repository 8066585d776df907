// A photo that tests send: the beginning of a PNG image.
const bytes = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(17, 1)]);

export const photo = {
  mediaType: "image/png",
  name: "parcel.png",
  bytes: bytes.length,
  base64: bytes.toString("base64"),
  url: `data:image/png;base64,${bytes.toString("base64")}`,
};
