const page = { chat: "page" };
const react = { ...page, template: "react", shown: ["vite", "react"] };
const program = { chat: "program", files: ["program.ts"] };
const compiled = { ...program, shared: ["imports.ts"], template: "compiled", shown: ["typescript"] };
const react18 = { react: "18.3.1", "react-dom": "18.3.1", "@types/react": "18.3.27", "@types/react-dom": "18.3.7" };
const below = (folder, files) => files.map((file) => `${folder}/${file}`);

/**
 * The toolchains, in the order in which they are tried. `template` is a folder, by default of the same name, with what a
 * user writes besides the page: settings, and a package.json with pinned versions and the scripts `types`, `build`, and
 * `start` (a server) or `chat` (a program). `files` are the code, from the blocks of the documents with these paths or an
 * end of them, or else beside this file; `shared` are further ones. `versions` replace those of the package.json. The table
 * shows those of `shown`. `newNode` is true for those that need a newer Node.js than 20, which is installed for them.
 */
export const toolchains = {
  "vite-react-19": { ...react, files: ["config.js", "index.html", "main.tsx"] },
  "vite-react-18": { ...react, files: ["chat.tsx", "service.ts"], versions: react18 },
  vue: { ...page, shown: ["vite", "vue"], files: ["Chat.vue", "service.ts"] },
  angular: { ...page, shown: ["@angular/core", "typescript"], files: below("src", ["chat.ts", "service.ts"]), newNode: true },
  next: {
    ...page,
    shown: ["next", "react"],
    files: below("app", ["page.tsx", "chat.tsx", "service.ts", "token/route.ts", "token/user-token.ts"]),
  },
  "react-router": {
    ...page,
    shown: ["react-router", "react"],
    files: below("app/routes", ["home.tsx", "chat.tsx", "service.ts", "token.ts", "user-token.ts"]),
    newNode: true,
  },
  nuxt: {
    ...page,
    shown: ["nuxt", "vue"],
    files: ["app/app.vue", "app/Chat.vue", "app/service.ts", "server/routes/token.post.ts", "server/utils/user-token.ts"],
    newNode: true,
  },
  sveltekit: {
    ...page,
    shown: ["@sveltejs/kit", "svelte"],
    files: below("src/routes", ["+page.svelte", "+page.server.ts", "Chat.svelte", "service.ts", "token/+server.ts", "token/user-token.ts"]),
    newNode: true,
  },
  jest: { chat: "test", files: ["chat.test.ts"], shown: ["jest", "ts-jest"] },
  vitest: { chat: "test", files: ["chat.test.ts"], shown: ["vitest", "jsdom"], newNode: true },
  deno: { ...program, shown: ["deno"] },
  bun: { ...program, shown: ["bun"] },
  workers: { chat: "stream", files: ["worker.ts"], shown: ["wrangler"], newNode: true },
  "typescript-5.2": { ...compiled, versions: { typescript: "5.2.2" } },
  "typescript-7": { ...compiled, versions: { typescript: "7.0.2", "@types/node": "26.6.7" } },
  commonjs: { ...compiled, template: "commonjs" },
};
