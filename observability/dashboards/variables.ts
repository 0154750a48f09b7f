import {
  CustomVariableBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard'

/** Whatever the variables of these kinds choose. */
export const prometheus = { type: 'prometheus', uid: '${datasource}' }
export const tempo = { type: 'tempo', uid: '${tempo}' }

/** The defaults are those that docker-compose.yml serves: its image names its sources so. */
export function sources(): DatasourceVariableBuilder[] {
  return [
    new DatasourceVariableBuilder('datasource')
      .label('Metrics')
      .type('prometheus')
      .current({ text: 'Prometheus', value: 'prometheus' }),
    new DatasourceVariableBuilder('tempo').label('Traces').type('tempo').current({ text: 'Tempo', value: 'tempo' }),
  ]
}

export function workflow(): QueryVariableBuilder {
  return new QueryVariableBuilder('workflow')
    .label('Workflow')
    .datasource(prometheus)
    .query('label_values(holdfast_workflow_name)')
    .definition('label_values(holdfast_workflow_name)')
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' })
}

export function run(): TextBoxVariableBuilder {
  return new TextBoxVariableBuilder('run')
    .label('Run')
    .description('The id of a run')
    .defaultValue('')
    .current({ text: '', value: '' })
}

export function slow(): CustomVariableBuilder {
  return new CustomVariableBuilder('slow')
    .label('Slow is over')
    .description('A duration such as 500ms, 10s or 5m')
    .values('100ms,1s,10s,1m,10m')
    .current({ text: '1s', value: '1s' })
}
