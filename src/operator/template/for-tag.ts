import {
  type Emitter,
  type Liquid,
  type Parser,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
} from "liquidjs";
import { ALL, type TemplateContext } from "./context.ts";
import { TemplateFault } from "./template-fault.ts";

const SYNTAX = new RegExp(`^(?!${ALL} )([A-Za-z_][A-Za-z0-9_]*) +in +${ALL}$`);

/**
 * The loop of templates, over the variables of the resource and nothing else: `{% for item in vars
 * %}…{% endfor %}`.
 */
export class ForTag extends Tag {
  readonly #variable: string;
  readonly #body: Template[] = [];

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, remaining, liquid);
    const variable = SYNTAX.exec(token.args.trim())?.[1];
    if (variable === undefined)
      throw new TemplateFault(`the only loop is {% for item in ${ALL} %}`);
    this.#variable = variable;
    parser
      .parseStream(remaining)
      .on("tag:endfor", function end() {
        this.stop();
      })
      .on<Template>("template", (template) => void this.#body.push(template))
      .on("end", () => {
        throw new TemplateFault("{% for %} lacks {% endfor %}");
      })
      .start();
  }

  *render(context: TemplateContext, emitter: Emitter): Generator {
    for (const variable of context.variables) {
      yield* context.withVariable(this.#variable, variable, () =>
        this.liquid.renderer.renderTemplates(this.#body, context, emitter),
      );
    }
  }

  /** Returns the templates that use the variable, for the analysis of names to await. */
  *children(): Generator<unknown, Template[]> {
    yield;
    return this.#body;
  }

  blockScope(): string[] {
    return [this.#variable];
  }
}
