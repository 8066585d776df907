import { memo, type ReactNode, useDeferredValue, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remend from "remend";
import { CopyIcon } from "../ui/copy.js";
import { ErrorBoundary } from "../ui/error-boundary.js";
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
  a: ({ href, children }) => (href ? <Link href={href}>{children}</Link> : children),
  img: ({ src, alt }) => (typeof src === "string" && src !== "" ? <Link href={src}>{alt || "image"}</Link> : alt),
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

/** The number of characters from which on a text is shown as it is, since it would take seconds to render. */
const MAX_LENGTH = 64 * 1024;

interface MarkdownProps {
  text: string;
  isStreaming?: boolean;
}

const Rendered = memo(({ text, isStreaming }: MarkdownProps) => (
  <ReactMarkdown remarkPlugins={[gfm]} components={COMPONENTS} urlTransform={urlTransform}>
    {isStreaming ? closed(text) : text}
  </ReactMarkdown>
));

/** A text with Markdown, whose HTML is shown as text. */
export const Markdown = ({ text, isStreaming = false }: MarkdownProps) => {
  // While text arrives faster than it is rendered, steps are left out.
  const shown = useDeferredValue(text);
  const plain = <p>{shown}</p>;
  if (shown.length > MAX_LENGTH) return plain;
  // The renderer fails for lists and quotes that are nested thousands deep.
  return (
    <ErrorBoundary fallback={plain}>
      <Rendered text={shown} isStreaming={isStreaming} />
    </ErrorBoundary>
  );
};
