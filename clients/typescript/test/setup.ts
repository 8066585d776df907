// Pages of tests wait as long for an element as `expect.poll` does.
if (globalThis.document) {
  const { configure } = await import("@testing-library/react");
  configure({ asyncUtilTimeout: 10_000 });
}
