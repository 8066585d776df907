import { useEffect, useState } from "react";
import { serviceUrl } from "../location.js";
import { Button } from "../ui/button.js";
import { Brand } from "../ui/icon.js";
import { ErrorNotice } from "../ui/notice.js";
import { useSessions } from "./session.js";

/** The page that asks for an API key or a token. */
export const SignIn = () => {
  const { signIn, reason, isKept: wasKept } = useSessions();
  const [credential, setCredential] = useState("");
  const [isKept, setIsKept] = useState(wasKept);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  useEffect(() => {
    document.title = "Sign in – Agent Service";
  }, []);

  const submit = async () => {
    setIsBusy(true);
    setError(undefined);
    try {
      await signIn(credential.trim(), isKept);
    } catch (caught) {
      setError(caught);
      setIsBusy(false);
    }
  };

  return (
    <main className="sign-in">
      <form
        className="card stack"
        aria-busy={isBusy}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className="brand">
          <Brand /> Agent Service
        </div>
        <div>
          <h1>Sign in</h1>
          <p className="muted">
            at <span className="mono">{serviceUrl}</span>
          </p>
        </div>
        {reason !== undefined && error === undefined && (
          <p className="notice warn" role="status">
            {reason}
          </p>
        )}
        {error !== undefined && <ErrorNotice error={error} />}
        <div className="field">
          <label htmlFor="credential">API key or access token</label>
          <input
            id="credential"
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            required
            value={credential}
            onChange={(event) => setCredential(event.target.value)}
            aria-describedby="credential-hint"
          />
          <p className="hint" id="credential-hint">
            The first start of the service prints a key; <code>agent-service keys create</code> makes another.
          </p>
        </div>
        <label className="check">
          <input type="checkbox" checked={isKept} onChange={(event) => setIsKept(event.target.checked)} />
          <span>
            Stay signed in in this tab
            <span className="hint">Until the tab is closed. Otherwise the credential stays in memory, and a reload asks for it again.</span>
          </span>
        </label>
        <Button kind="primary" type="submit" disabled={isBusy || credential.trim() === ""}>
          {isBusy ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </main>
  );
};
