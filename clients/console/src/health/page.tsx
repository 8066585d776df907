import { useQueryClient } from "@tanstack/react-query";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { PageHeader } from "../ui/page-header.js";
import { Engines, ToolServers } from "./parts.js";
import { Process } from "./process.js";

/** The state of the process that answers the console. */
export const HealthPage = () => {
  const queries = useQueryClient();
  return (
    <>
      <PageHeader title="Health" detail="The process that answers this page. Read every five seconds.">
        <Button onClick={() => void queries.invalidateQueries({ queryKey: ["health"] })}>
          <Icon name="refresh" /> Refresh
        </Button>
      </PageHeader>
      <Process />
      <div className="columns">
        <Engines />
        <ToolServers />
      </div>
    </>
  );
};
