import { memo, type ReactNode, useDeferredValue, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remend from "remend";
import { CopyIcon } from "../ui/copy.js";
import { gfm } from "./gfm.js";

const CodeBlock = ({ children }: { children?: ReactNode }) => {
  const block = useRef<HTMLPreElement>(null);
  return (
    <div className="code-block">
      <pre ref={block} tabIndex={0} dir="ltr">
        {children}
      </pre>
      <CopyIcon text={() => block.current?.textContent?.replace(/\n$/, "") ?? ""} what="Copy the code" />
    </div>
  );
};

const Link = ({ href, children }: { href?: string | undefined; children?: ReactNode }) => (
  <a href={href} target="_blank" rel="noopener noreferrer nofollow">
    {children}
  </a>
);

/** A reply never loads anything: where its images are from would learn who reads it. */
const COMPONENTS: Components = {
  // Below the headings of the page.
  h1: "h3",
  h2: "h4",
  h3: "h5",
  h4: "h6",
  h5: "h6",
  a: ({ href, children }) => (href ? <Link href={href}>{children}</Link> : <>{children}</>),
  img: ({ src, alt }) => (typeof src === "string" && src !== "" ? <Link href={src}>{alt || "image"}</Link> : <>{alt}</>),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className="table" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
};

const REPAIRS = { htmlTags: false, katex: false, linkMode: "text-only" } as const;

/** Closes the elements in which a text ends that is being written. Marks at its end may be half of one. */
const closed = (text: string): string => remend(text.replace(/[*_~`]+$/, ""), REPAIRS);

/** Only other pages and mail; relative links would lead into the console. */
const urlTransform = (url: string): string => (/^(https?:\/\/|mailto:)/i.test(url) ? url : "");

const Rendered = memo(({ text }: { text: string }) => (
  <ReactMarkdown remarkPlugins={[gfm]} components={COMPONENTS} urlTransform={urlTransform}>
    {text}
  </ReactMarkdown>
));

/** A text with Markdown, whose HTML is shown as text. */
export const Markdown = ({ text, isStreaming = false }: { text: string; isStreaming?: boolean }) => {
  // While text arrives faster than it is rendered, steps are left out.
  const shown = useDeferredValue(text);
  return <Rendered text={isStreaming ? closed(shown) : shown} />;
};
