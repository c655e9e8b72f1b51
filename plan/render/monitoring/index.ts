import type { StackConfig } from "../../../config/schema";
import type { StackPlan } from "../../stack";
import { renderAlerts } from "./alerts";
import { renderDashboard } from "./dashboard";
import { renderScrapes } from "./prometheus";
import { monitoringOf } from "./targets";

/** Files for Prometheus and Grafana; none for a retired stack, or one without a service that can be scraped. */
export function renderMonitoring(config: StackConfig, plan: StackPlan): Record<string, string> {
  const monitoring = monitoringOf(config, plan);
  if (config.retired !== undefined || monitoring.services.length === 0) return {};
  return {
    "monitoring/prometheus.yaml": renderScrapes(monitoring),
    "monitoring/alerts.yaml": renderAlerts(monitoring),
    "monitoring/dashboard.json": renderDashboard(monitoring),
  };
}
