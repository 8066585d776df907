import { Button } from "../ui/button.js";
import { PageHeader } from "../ui/page-header.js";
import { SCOPES } from "./scopes.js";
import { useSession, useSessions } from "./session.js";

const number = new Intl.NumberFormat();

const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: string | number])[] }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{typeof value === "number" ? number.format(value) : value}</dd>
      </div>
    ))}
  </dl>
);

const rate = ({ perMinute, burst }: { perMinute: number; burst: number }) =>
  `${number.format(perMinute)} a minute, ${number.format(burst)} at once`;

/** The principal, its scopes and its limits. */
export const AccountPage = () => {
  const { principal, limits } = useSession();
  const { signOut } = useSessions();
  const { rates, sizes } = limits;
  return (
    <>
      <PageHeader title="Credential and limits">
        <Button onClick={signOut}>Sign out</Button>
      </PageHeader>
      <section className="card stack">
        <h2>Credential</h2>
        <Facts
          facts={[
            ["Tenant", principal.tenantId],
            ["Principal", principal.id],
            ...(principal.userId === undefined ? [] : [["User", principal.userId] as const]),
          ]}
        />
        <div className="stack-s">
          <h3>Scopes</h3>
          <ul className="scopes">
            {principal.scopes.map((scope) => (
              <li key={scope}>
                <span className="mono">{scope}</span>
                <span className="hint">{SCOPES[scope]}</span>
              </li>
            ))}
          </ul>
        </div>
      </section>
      <div className="columns">
        <section className="card stack-s">
          <h2>Rates</h2>
          <Facts
            facts={[
              ["Requests", rate(rates.requests)],
              ["Chats", rate(rates.chat)],
              ["Bytes of agent events", rate(rates.logBytes)],
              ["Open streams", rates.streams],
            ]}
          />
        </section>
        <section className="card stack-s">
          <h2>Sizes</h2>
          <Facts
            facts={[
              ["Name of an agent", `${number.format(sizes.nameCharacters)} characters`],
              ["Personality", `${number.format(sizes.personalityCharacters)} characters`],
              ["Capabilities", sizes.capabilities],
              ["Rules", sizes.rules],
              ["Message", `${number.format(sizes.messageCharacters)} characters`],
              ["Request", `${number.format(sizes.bodyBytes)} bytes`],
            ]}
          />
        </section>
      </div>
    </>
  );
};
