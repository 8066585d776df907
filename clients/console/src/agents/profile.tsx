import { TextField } from "../form/fields.js";
import { LinesField } from "../form/parsed-field.js";
import { MetadataField } from "./metadata.js";

/** The part of an agent that pages show to every visitor. */
export const Profile = () => (
  <details className="card">
    <summary>
      <h2>Profile</h2>
    </summary>
    <div className="stack">
      <p className="muted">Every visitor can read it, with the name and the greeting.</p>
      <TextField pointer="/profile/description" label="Description for visitors" rows={2} />
      <LinesField
        pointer="/profile/suggestions"
        label="Suggested messages"
        placeholder="None"
        hint="Messages that a page can offer to send, one a line."
      />
      <MetadataField pointer="/profile/metadata" label="Metadata for pages" hint="For your pages; the service only stores it." />
    </div>
  </details>
);
