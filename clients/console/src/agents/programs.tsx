import { type ReactNode, useState } from "react";
import { serviceUrl } from "../location.js";
import { type Scope, USER_SCOPES } from "../session/scopes.js";
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { CopyIcon } from "../ui/copy.js";
import { ErrorNotice } from "../ui/notice.js";
import { ScopeName } from "../ui/scope-name.js";
import { curlProgram, javaScriptProgram, reactProgram } from "./program-texts.js";

/** The user that test tokens are for. */
const TEST_USER = "console-test";
const TOKEN_SECONDS = 3_600;
/** What a program contains before there is a token. */
const NO_TOKEN = "eyJ…";

interface TestToken {
  token: string;
  end: Date;
}

/** Issues tokens for trying the programs. */
const TokenForm = ({ issued, onIssued }: { issued: TestToken | undefined; onIssued: (token: TestToken) => void }) => {
  const { service, principal } = useSession();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const needed: readonly Scope[] = ["user-tokens:issue", "chat:write"];
  const missing = needed.filter((scope) => !principal.scopes.includes(scope));
  const issue = async () => {
    setIsBusy(true);
    setError(undefined);
    try {
      const scopes = USER_SCOPES.filter((scope) => principal.scopes.includes(scope));
      const { token, expiresIn } = await service.userTokens.create({ userId: TEST_USER, scopes, expiresIn: TOKEN_SECONDS });
      onIssued({ token, end: new Date(Date.now() + expiresIn * 1_000) });
    } catch (caught) {
      setError(caught);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <section className="card stack-s">
      <h2>Test token</h2>
      <p className="muted">
        A page has a token of its user, which your backend requests with an API key. To try the programs below, create one here: it is valid
        for an hour, for the user <code>{TEST_USER}</code> and its conversations.
      </p>
      {missing.map((scope) => (
        <p key={scope} className="notice warn">
          <span>
            Your credential lacks the scope <ScopeName scope={scope} />. Sign in with a key that has it.
          </span>
        </p>
      ))}
      {error !== undefined && <ErrorNotice error={error} />}
      <div className="row">
        <Button
          kind={issued === undefined ? "primary" : "default"}
          disabled={missing.length > 0}
          aria-disabled={isBusy}
          onClick={() => !isBusy && void issue()}
        >
          {issued === undefined ? "Create a test token" : "Create another one"}
        </Button>
        <span className="muted small" role="status">
          {issued !== undefined && (
            <>The programs contain the token, until {issued.end.toLocaleTimeString(undefined, { timeStyle: "short" })}.</>
          )}
        </span>
      </div>
    </section>
  );
};

const Program = ({ name, note, text }: { name: string; note?: ReactNode; text: string }) => (
  <section className="card stack-s">
    <h2>{name}</h2>
    {note !== undefined && <p className="muted">{note}</p>}
    <div className="code-block">
      <pre tabIndex={0} role="region" aria-label={`${name} program`}>
        {text}
      </pre>
      <CopyIcon text={() => text} what={`Copy the ${name} program`} />
    </div>
  </section>
);

/** How programs and pages chat with an agent. */
export const Programs = ({ agentId }: { agentId: string }) => {
  const [issued, setIssued] = useState<TestToken>();
  const target = { url: serviceUrl, agentId, token: issued?.token ?? NO_TOKEN };
  return (
    <div className="stack">
      <TokenForm issued={issued} onIssued={setIssued} />
      <Program name="curl" text={curlProgram(target)} />
      <Program
        name="JavaScript"
        note={
          <>
            With the package <code>agent-service-client</code>, which <code>npm pack</code> builds in <code>clients/typescript</code> of the
            service.
          </>
        }
        text={javaScriptProgram(target)}
      />
      <Program
        name="React"
        note={
          <>
            A component with a whole chat, which your page renders as <code>{"<Chat />"}</code>. The origin of the page must be in{" "}
            <code>SERVER__ALLOWED_ORIGINS</code>. In a real page, <code>getToken</code> fetches the token from your backend.
          </>
        }
        text={reactProgram(target)}
      />
    </div>
  );
};
