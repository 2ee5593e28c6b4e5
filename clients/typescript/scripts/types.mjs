// The TypeScript text of an OpenAPI document's shapes. The test that finds stale types uses it too.
import openapiTS, { astToString } from "openapi-typescript";

const HEADER = "// Made from the server's OpenAPI document by `npm run schema`: do not change it by hand.\n\n";

/** @param {any} document */
export async function types(document) {
  const shapes = { ...document, paths: {}, components: { schemas: document.components.schemas } };
  // A field with a default may be left out of a request.
  return HEADER + astToString(await openapiTS(shapes, { defaultNonNullable: false }));
}
