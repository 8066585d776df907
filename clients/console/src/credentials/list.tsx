import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyableId } from "../ui/copy.js";
import { Confirm } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { Empty } from "../ui/notice.js";
import { PagedList } from "../ui/paged-list.js";
import { Time } from "../ui/time.js";
import { notify } from "../ui/toast.js";
import { CreateDialog } from "./create.js";
import type { Credential, Kind, WithSecret } from "./kinds.js";
import { RotateDialog } from "./rotate.js";
import { SecretDialog } from "./secret.js";

type Open = { action: "create" } | { action: "rotate" | "revoke"; credential: Credential } | { action: "secret"; credential: WithSecret };

const isEnded = ({ revokedAt, expiresAt }: Credential) => revokedAt != null || (expiresAt != null && new Date(expiresAt) < new Date());

const Row = ({ kind, credential, onOpen }: { kind: Kind; credential: Credential; onOpen: (open: Open) => void }) => {
  const { principal } = useSession();
  const { id, name, scopes, last4, jwks, jwksUri, createdAt, lastUsedAt, expiresAt, revokedAt } = credential;
  const isOwn = principal.id.endsWith(`:${id}`);
  return (
    <div className="list-row credential">
      <span className="list-main">
        <span className="row">
          <strong className="truncate" dir="auto">
            {name}
          </strong>
          {isOwn && <Badge tone="accent">signed in with it</Badge>}
          {revokedAt != null ? <Badge tone="danger">revoked</Badge> : isEnded(credential) && <Badge tone="warn">expired</Badge>}
        </span>
        <span className="muted small facts-line">
          <CopyableId id={id} of={`${kind.one} ${name}`} more={last4 && `…${last4}`} />
          <span>
            created <Time at={createdAt} />
          </span>
          {lastUsedAt == null ? (
            // Its first use may not be stored yet.
            !isOwn && <span>never used</span>
          ) : (
            <span>
              used <Time at={lastUsedAt} />
            </span>
          )}
          {expiresAt != null && (
            <span>
              {isEnded(credential) ? "expired" : "expires"} <Time at={expiresAt} />
            </span>
          )}
          {(jwks !== undefined || jwksUri !== undefined) && <span>own keys</span>}
        </span>
        <span className="row">
          {scopes.map((scope) => (
            <Badge key={scope}>{scope}</Badge>
          ))}
        </span>
      </span>
      {!isEnded(credential) && (
        <span className="row">
          {jwks === undefined && jwksUri === undefined && (
            <Button className="small-button" onClick={() => onOpen({ action: "rotate", credential })} aria-label={`Rotate ${name}`}>
              Rotate
            </Button>
          )}
          <Button className="small-button" onClick={() => onOpen({ action: "revoke", credential })} aria-label={`Revoke ${name}`}>
            Revoke
          </Button>
        </span>
      )}
    </div>
  );
};

export const CredentialList = ({ kind }: { kind: Kind }) => {
  const queries = useQueryClient();
  const { principal } = useSession();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const refresh = () => queries.invalidateQueries({ queryKey: [kind.id] });
  const showSecret = (credential: WithSecret) => {
    setOpen(credential.secret === undefined ? undefined : { action: "secret", credential });
    void refresh();
  };
  return (
    <div className="stack">
      <div className="panel-action">
        <Button kind="primary" onClick={() => setOpen({ action: "create" })}>
          <Icon name="plus" /> New {kind.one}
        </Button>
      </div>
      <PagedList
        label={kind.many}
        queryKey={[kind.id]}
        load={kind.list}
        keyOf={(credential) => credential.id}
        row={(credential) => <Row kind={kind} credential={credential} onOpen={setOpen} />}
        empty={<Empty title={`No ${kind.many} yet`}>{kind.empty}</Empty>}
      />
      {open?.action === "create" && <CreateDialog kind={kind} onCreated={showSecret} onClose={close} />}
      {open?.action === "rotate" && <RotateDialog kind={kind} credential={open.credential} onRotated={showSecret} onClose={close} />}
      {open?.action === "secret" && <SecretDialog kind={kind} credential={open.credential} onClose={close} />}
      {open?.action === "revoke" && (
        <Confirm
          title={`Revoke “${open.credential.name}”?`}
          action={`Revoke the ${kind.one}`}
          onClose={close}
          onConfirm={async () => {
            await kind.revoke(open.credential.id);
            notify(`“${open.credential.name}” was revoked.`);
            void refresh();
          }}
        >
          <p>It is rejected everywhere within a second, and open streams and sockets that use it end. This cannot be undone.</p>
          {principal.id.endsWith(`:${open.credential.id}`) && (
            <p className="fault">You are signed in with it, so you will be signed out.</p>
          )}
        </Confirm>
      )}
    </div>
  );
};
