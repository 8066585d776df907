import { Autocomplete } from "@base-ui/react/autocomplete";
import { Combobox } from "@base-ui/react/combobox";
import { type KeyboardEvent, useState } from "react";
import { Icon } from "../ui/icon.js";
import { type FieldProps, Labelled } from "./fields.js";
import { controlId, useField } from "./form.js";
import type { Json } from "./json-pointer.js";

export interface Suggestion {
  value: string;
  detail?: string | undefined;
}

const SuggestionText = ({ suggestion }: { suggestion: Suggestion }) => (
  <>
    <span>{suggestion.value}</span>
    {suggestion.detail !== undefined && <span className="muted small"> {suggestion.detail}</span>}
  </>
);

interface SuggestFieldProps extends FieldProps {
  suggestions: readonly Suggestion[];
}

/** Returns whether the key is an Enter that chooses nothing from the list. In a picker, it must not submit the form. */
const isPlainEnter = ({ key, nativeEvent, currentTarget }: KeyboardEvent<HTMLInputElement>): boolean =>
  key === "Enter" && !nativeEvent.isComposing && !currentTarget.hasAttribute("aria-activedescendant");

/** A text with suggestions; any other text is possible. */
export const SuggestField = ({ pointer, label, hint, placeholder, suggestions }: SuggestFieldProps) => {
  const { value, set } = useField(pointer);
  return (
    <Labelled pointer={pointer} label={label} hint={hint}>
      <Autocomplete.Root
        items={suggestions}
        itemToStringValue={(item: Suggestion) => item.value}
        value={typeof value === "string" ? value : ""}
        onValueChange={(text) => set(text === "" ? undefined : text)}
        openOnInputClick
      >
        <Autocomplete.Input
          id={controlId(pointer)}
          className="input"
          placeholder={placeholder}
          onKeyDown={(event) => isPlainEnter(event) && event.preventDefault()}
        />
        <Autocomplete.Portal>
          <Autocomplete.Positioner className="popup-positioner" sideOffset={4}>
            <Autocomplete.Popup className="popup" hidden={suggestions.length === 0}>
              <Autocomplete.List>
                {(item: Suggestion) => (
                  <Autocomplete.Item key={item.value} className="option" value={item}>
                    <SuggestionText suggestion={item} />
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Popup>
          </Autocomplete.Positioner>
        </Autocomplete.Portal>
      </Autocomplete.Root>
    </Labelled>
  );
};

const Chip = ({ item }: { item: string }) => (
  <Combobox.Chip className="chip">
    {item}
    <Combobox.ChipRemove className="chip-remove" aria-label={`Remove ${item}`}>
      <Icon name="close" size={12} />
    </Combobox.ChipRemove>
  </Combobox.Chip>
);

/** Returns what a typed text adds: the suggestion of this name, or else the text or, in a closed list, the first suggestion that contains it. */
const typedItem = (text: string, names: readonly string[], isClosed: boolean): string | undefined => {
  if (text === "") return undefined;
  const typed = text.toLowerCase();
  const fitting = isClosed ? names.find((name) => name.toLowerCase().includes(typed)) : text;
  return names.find((name) => name.toLowerCase() === typed) ?? fitting;
};

interface TagsFieldProps extends SuggestFieldProps {
  /** Accepts only suggestions. */
  isClosed?: boolean;
  /** The text of an item that is no text itself. */
  read?: (item: Json) => string;
  /** The item of a text. */
  write?: (text: string) => Json;
}

/** A list of texts, from suggestions and, unless it is closed, others. */
export const TagsField = ({
  pointer,
  label,
  hint,
  placeholder,
  suggestions,
  isClosed = false,
  read = String,
  write = (text) => text,
}: TagsFieldProps) => {
  const { value, set } = useField(pointer, true);
  const [text, setText] = useState("");
  const selected = Array.isArray(value) ? value.map((item) => read(item)) : [];
  const names = suggestions.map((item) => item.value);
  const details = new Map(suggestions.map((item) => [item.value, item.detail]));
  const added = text.trim();
  const isNew = added !== "" && !isClosed && !details.has(added) && !selected.includes(added);
  const items = [...names, ...selected.filter((item) => !details.has(item)), ...(isNew ? [added] : [])];
  const add = (item: string) => {
    if (item !== "" && !selected.includes(item)) set([...selected, item].map(write));
    setText("");
  };
  return (
    <Labelled pointer={pointer} label={label} hint={hint} isWhole>
      <Combobox.Root
        multiple
        items={items}
        value={selected}
        onValueChange={(next: string[]) => {
          set(next.length === 0 ? undefined : next.map(write));
          setText("");
        }}
        inputValue={text}
        onInputValueChange={(next, { reason }) => {
          // When the list of options closes, a text that was not chosen stays.
          if (reason !== "input-clear") setText(next);
        }}
      >
        <Combobox.Chips className="input chips">
          {selected.map((item) => (
            <Chip key={item} item={item} />
          ))}
          <Combobox.Input
            id={controlId(pointer)}
            className="chips-input"
            placeholder={selected.length === 0 ? placeholder : undefined}
            onBlur={({ relatedTarget }) => {
              if (relatedTarget?.closest(".popup") == null) add(isNew || details.has(added) ? added : "");
            }}
            onKeyDown={(event) => {
              if (!isPlainEnter(event) && (event.key !== "," || isClosed || added === "")) return;
              event.preventDefault();
              const item = typedItem(added, names, isClosed);
              if (item !== undefined) add(item);
            }}
          />
        </Combobox.Chips>
        <Combobox.Portal>
          <Combobox.Positioner className="popup-positioner" sideOffset={4}>
            <Combobox.Popup className="popup">
              <Combobox.Empty className="option-empty">{isClosed ? "Nothing fits." : "Type to add one."}</Combobox.Empty>
              <Combobox.List>
                {(item: string) => (
                  <Combobox.Item key={item} className="option" value={item}>
                    <span className="option-check">
                      <Combobox.ItemIndicator>
                        <Icon name="check" size={14} />
                      </Combobox.ItemIndicator>
                    </span>
                    <SuggestionText suggestion={{ value: isNew && item === added ? `Add “${item}”` : item, detail: details.get(item) }} />
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </Labelled>
  );
};
