import { Tabs } from "@base-ui/react/tabs";
import { useMemo } from "react";
import { useScope, useSession } from "../session/session.js";
import { MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { kindsOf } from "./kinds.js";
import { CredentialList } from "./list.js";

/** API keys and OAuth clients. */
export const CredentialsPage = () => {
  const { service } = useSession();
  const kinds = useMemo(() => kindsOf(service), [service]);
  if (!useScope("keys:admin")) return <MissingScope scope="keys:admin" />;
  return (
    <>
      <PageHeader title="Access" detail="What backends, tools and people sign in with." />
      <Tabs.Root defaultValue="keys">
        <Tabs.List className="tabs">
          <Tabs.Tab className="tab" value="keys">
            API keys
          </Tabs.Tab>
          <Tabs.Tab className="tab" value="clients">
            OAuth clients
          </Tabs.Tab>
          <Tabs.Indicator className="tab-indicator" />
        </Tabs.List>
        <Tabs.Panel value="keys" className="panel">
          <CredentialList kind={kinds.keys} />
        </Tabs.Panel>
        <Tabs.Panel value="clients" className="panel">
          <CredentialList kind={kinds.clients} />
        </Tabs.Panel>
      </Tabs.Root>
    </>
  );
};
